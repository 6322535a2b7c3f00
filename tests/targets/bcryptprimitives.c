/* The one function of bcryptprimitives.dll that std of Rust needs, for Wine, whose version 8 lacks it. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG len); /* RtlGenRandom */

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T len)
{
    return SystemFunction036(buffer, (ULONG)len);
}
