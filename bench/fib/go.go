// Go: a goroutine for each call of fib; see fib.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	var a, b int
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		a = fib(n - 1)
		both.Done()
	}()
	go func() {
		b = fib(n - 2)
		both.Done()
	}()
	both.Wait()
	return a + b
}

// The value, and the calls of fib it takes.
func expected(n int) (value, calls int) {
	if n < 2 {
		return n, 1
	}
	a, callsA := expected(n - 1)
	b, callsB := expected(n - 2)
	return a + b, callsA + callsB + 1
}

func main() {
	program := gobench.New("n = 25 (quick: 20), a WaitGroup per call",
		gobench.Parameter{Name: "n", Values: []int{25}, QuickValues: []int{20}})
	for _, n := range program.Values("n") {
		if n < 2 {
			n = 2
		}
		value, calls := expected(n)
		program.Measure("WaitGroup", nil, "spawn", calls-1, func(count int) {
			for ; count > 0; count-- {
				gobench.Require(fib(n) == value, "the sum is wrong")
			}
		})
		program.ReportMemory("WaitGroup", nil)
	}
}
