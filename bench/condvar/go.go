// Go: two goroutines hand a turn to each other by a mutex and a condition variable each; see condvar.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

type handoff struct {
	mutex  sync.Mutex
	myTurn [2]*sync.Cond
	turn   int
}

func (h *handoff) run(me, messages int) {
	for ; messages > 0; messages-- {
		h.mutex.Lock()
		for h.turn != me {
			h.myTurn[me].Wait()
		}
		h.turn = 1 - me
		h.mutex.Unlock()
		h.myTurn[1-me].Signal()
	}
}

func main() {
	program := gobench.New("sync.Mutex, sync.Cond")
	program.Measure("Cond", nil, "message", 2, func(count int) {
		shared := &handoff{}
		shared.myTurn[0] = sync.NewCond(&shared.mutex)
		shared.myTurn[1] = sync.NewCond(&shared.mutex)
		var all sync.WaitGroup
		all.Add(2)
		for me := 0; me < 2; me++ {
			me := me
			go func() {
				shared.run(me, count)
				all.Done()
			}()
		}
		all.Wait()
	})
}
