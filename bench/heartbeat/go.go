// Go: see heartbeat.hpp.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sennit.example/bench/support/gobench"
)

func block(over *atomic.Bool) {
	for !over.Load() {
		longTime := syscall.NsecToTimespec(20_000_000)
		syscall.Nanosleep(&longTime, nil)
	}
}

func compute(over *atomic.Bool) {
	for !over.Load() {
	}
}

func yield(over *atomic.Bool) {
	for !over.Load() {
		runtime.Gosched()
	}
}

func spawnBursts(over *atomic.Bool) {
	for !over.Load() {
		var burst sync.WaitGroup
		burst.Add(100)
		for i := 0; i < 100; i++ {
			go func() {
				for end := time.Now().Add(20 * time.Microsecond); time.Now().Before(end); {
				}
				burst.Done()
			}()
		}
		burst.Wait()
	}
}

func main() {
	program := gobench.New("goroutines")
	if program.Workers() < 2 {
		program.Unsupported("", nil, "who never gives way needs a worker for itself")
		return
	}
	measure := func(beside string, count int, busy func(*atomic.Bool)) {
		program.MeasureP99("", gobench.Params{"beside": beside}, func(beats int) []float64 {
			var over atomic.Bool
			var others sync.WaitGroup
			others.Add(count)
			for i := 0; i < count; i++ {
				go func() {
					busy(&over)
					others.Done()
				}()
			}
			late := make([]float64, beats)
			for i := range late {
				due := time.Now().Add(time.Millisecond)
				time.Sleep(time.Until(due))
				late[i] = float64(time.Since(due).Nanoseconds()) / 1000
			}
			over.Store(true)
			others.Wait()
			return late
		})
	}
	measure("nobody", 0, compute)
	measure("100 that yield", 100, yield)
	measure("one that blocks", 1, block)
	measure("one that computes", 1, compute)
	measure("one that starts 100 at a time", 1, spawnBursts)
}
