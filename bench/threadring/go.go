// Go: a token round a ring of goroutines, an unbuffered channel each; see threadring.hpp.
package main

import (
	"math/rand"

	"sennit.example/bench/support/gobench"
)

// node is one goroutine's place in the ring.
type node struct {
	in   chan int
	next *node
}

func (self *node) run(done chan<- struct{}) {
	for token := range self.in {
		if token == 0 {
			done <- struct{}{}
		} else {
			self.next.in <- token - 1
		}
	}
}

func link(nodes []node, order []int) {
	for i := range order {
		nodes[order[i]].next = &nodes[order[(i+1)%len(order)]]
	}
}

func main() {
	program := gobench.New("an unbuffered channel each",
		gobench.Parameter{Name: "n", Values: []int{503, 10000, 100000}, QuickValues: []int{503, 10000}})
	for _, n := range program.Values("n") {
		nodes := make([]node, n)
		order := make([]int, n)
		done := make(chan struct{})
		for i := range nodes {
			order[i] = i
			nodes[i].in = make(chan int)
		}
		link(nodes, order)
		for i := range nodes {
			go nodes[i].run(done)
		}
		laps := func(count int) {
			nodes[0].in <- count * n
			<-done
		}
		program.MeasureRate("chan", gobench.Params{"n": n, "order": "memory"}, "hop", n, laps)
		rand.New(rand.NewSource(1)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		link(nodes, order)
		program.MeasureRate("chan", gobench.Params{"n": n, "order": "random"}, "hop", n, laps)
		for i := range nodes {
			close(nodes[i].in)
		}
	}
}
