// Go: n goroutines call one that serves: a channel of requests, each with a channel for its reply; see rpc.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

const callsAtATime = 20

type call struct {
	request uint64
	reply   chan uint64
}

func main() {
	program := gobench.New("an unbuffered channel for requests, one for each client's replies",
		gobench.Parameter{Name: "clients", Values: []int{1, 100000}, QuickValues: []int{1, 1000}})
	for _, n := range program.Values("clients") {
		requests := make(chan call)
		go func() {
			for each := range requests {
				each.reply <- each.request + 1
			}
		}()
		replies := make([]chan uint64, n)
		for i := range replies {
			replies[i] = make(chan uint64)
		}
		params := gobench.Params{"clients": n}
		program.Measure("channels", params, "call", n*callsAtATime, func(count int) {
			var all sync.WaitGroup
			all.Add(n)
			for i := 0; i < n; i++ {
				reply := replies[i]
				go func() {
					sum := 0
					for k := 0; k < count*callsAtATime; k++ {
						requests <- call{uint64(k), reply}
						sum += int(<-reply - uint64(k))
					}
					if sum != count*callsAtATime {
						panic("a reply was lost")
					}
					all.Done()
				}()
			}
			all.Wait()
		})
		program.ReportMemoryEach("channels", params, "client", n)
		close(requests)
	}
}
