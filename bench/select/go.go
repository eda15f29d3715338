// Go: select over channels; see select.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

// Found anew each time, as objects of which the compiler knows nothing.
var even, odd chan uint64

func otherwise(count int) {
	even = make(chan uint64, 1)
	none := 0
	for left := count; left > 0; left-- {
		select {
		case <-even:
		default:
			none++
		}
	}
	gobench.Require(none == count, "an empty channel had a value")
}

func ready(count int) {
	even, odd = make(chan uint64, 1), make(chan uint64, 1)
	var sum, expected uint64
	for i := uint64(0); i < uint64(count); i++ {
		if i%2 == 0 {
			even <- i
		} else {
			odd <- i
		}
		select {
		case value := <-even:
			sum += value
		case value := <-odd:
			sum += value
		}
		expected += i
	}
	gobench.Require(sum == expected, "a value was lost")
}

func synchronous(count int) {
	var channels [3]chan uint64
	var all sync.WaitGroup
	all.Add(4)
	var sum, expected uint64
	for i := range channels {
		channels[i] = make(chan uint64)
		each := uint64(count / 3)
		if i < count%3 {
			each++
		}
		expected += each * (each + 1) / 2
		go func(to chan uint64) {
			for left := each; left > 0; left-- {
				to <- left
			}
			all.Done()
		}(channels[i])
	}
	go func() {
		for left := count; left > 0; left-- {
			select {
			case value := <-channels[0]:
				sum += value
			case value := <-channels[1]:
				sum += value
			case value := <-channels[2]:
				sum += value
			}
		}
		all.Done()
	}()
	all.Wait()
	gobench.Require(sum == expected, "a value was lost")
}

func main() {
	program := gobench.New("select over chan")
	program.Measure("chan", gobench.Params{"work": "otherwise"}, "select", 1, otherwise)
	program.Measure("chan", gobench.Params{"work": "ready"}, "select", 1, ready)
	program.Measure("chan", gobench.Params{"work": "synchronous"}, "value", 1, synchronous)
}
