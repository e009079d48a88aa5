// The few names of the standard library that the shared headers use, since
// NVRTC has no standard library.
#pragma once

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

#ifndef INFINITY
#define INFINITY __longlong_as_double(0x7ff0000000000000LL)
#endif
