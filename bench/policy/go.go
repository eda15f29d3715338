// Go in its own policy (a FIFO with one LIFO slot): a lexer feeds a parser among other goroutines; see policy.hpp.
package main

import (
	"runtime"
	"sync"

	"sennit.example/bench/support/gobench"
)

type pipeline struct {
	mutex        sync.Mutex
	given, taken *sync.Cond
	full         bool
	text         []uint64
	rounds       int
}

// work touches each cache line of block.
func work(block []uint64) {
	for i := 0; i < len(block); i += 8 {
		block[i]++
	}
}

func (p *pipeline) lexer() {
	for left := p.rounds; left > 0; left-- {
		p.mutex.Lock()
		for p.full {
			p.taken.Wait()
		}
		work(p.text)
		p.full = true
		p.mutex.Unlock()
		p.given.Signal()
	}
}

func (p *pipeline) parser() {
	for left := p.rounds; left > 0; left-- {
		p.mutex.Lock()
		for !p.full {
			p.given.Wait()
		}
		work(p.text)
		p.full = false
		p.mutex.Unlock()
		p.taken.Signal()
	}
}

func (p *pipeline) other() {
	block := make([]uint64, len(p.text))
	for left := p.rounds; left > 0; left-- {
		work(block)
		runtime.Gosched()
	}
}

func main() {
	program := gobench.New("Go's scheduler as it is",
		gobench.Parameter{Name: "fibers", Values: []int{0, 10, 100, 1000}, QuickValues: []int{0, 10, 100}},
		gobench.Parameter{Name: "bytes", Values: []int{4096}, QuickValues: []int{4096}})
	for _, others := range program.Values("fibers") {
		for _, bytes := range program.Values("bytes") {
			params := gobench.Params{"fibers": others, "bytes": bytes}
			program.Measure("goroutines", params, "step", others+1, func(count int) {
				p := &pipeline{rounds: count, text: make([]uint64, bytes/8)}
				p.given = sync.NewCond(&p.mutex)
				p.taken = sync.NewCond(&p.mutex)
				var all sync.WaitGroup
				start := func(run func()) {
					all.Add(1)
					go func() {
						run()
						all.Done()
					}()
				}
				start(p.lexer)
				start(p.parser)
				for i := 0; i < others; i++ {
					start(p.other)
				}
				all.Wait()
			})
		}
	}
}
