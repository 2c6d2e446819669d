/* The numbers that training computes with. Compiled with FEDLANE_FLOAT64 they are double: tests then compare
 * the same code with golden numbers to the last digits, without float32's rounding between them. */
#ifndef FEDLANE_BASE_REAL_H
#define FEDLANE_BASE_REAL_H

#ifdef FEDLANE_FLOAT64
typedef double real;
#else
typedef float real;
#endif

#endif
