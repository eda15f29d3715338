// Package gobench is what ../bench.hpp is to the C++ programs: options, one warm-up and one timed run per
// measurement, and the lines the runner reads.
package gobench

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Params are a measurement's parameters, as the result shows them; nil for none.
type Params map[string]interface{}

// Parameter is an option for a workload's parameter, with the values taken when it is not given.
type Parameter struct {
	Name        string
	Values      []int
	QuickValues []int
}

// Program is one run of a benchmark program.
type Program struct {
	workers int
	quick   bool
	variant string
	seconds float64
	values  map[string][]int
}

// New reads the options, sets GOMAXPROCS to the workers asked for, and prints the first line.
func New(configuration string, parameters ...Parameter) *Program {
	p := &Program{values: map[string][]int{}}
	flag.IntVar(&p.workers, "workers", 1, "kernel threads that run goroutines (GOMAXPROCS)")
	flag.BoolVar(&p.quick, "quick", false, "short runs")
	flag.StringVar(&p.variant, "variant", "", "measure this variant only")
	flag.Float64Var(&p.seconds, "seconds", 0, "time of one measurement")
	lists := map[string]*string{}
	for _, each := range parameters {
		lists[each.Name] = flag.String(each.Name, "", "values, as in 2,100")
	}
	flag.Usage = func() {} // what is wrong shall be the last that is printed
	flag.Parse()
	if flag.NArg() != 0 || p.workers < 1 {
		fmt.Fprintln(os.Stderr, "usage: [-quick] [-variant NAME] [-workers N] [-seconds S] [-PARAMETER LIST]")
		os.Exit(2)
	}
	for _, each := range parameters {
		p.values[each.Name] = each.Values
		if *lists[each.Name] != "" {
			p.values[each.Name] = parseList(each.Name, *lists[each.Name])
		} else if p.quick {
			p.values[each.Name] = each.QuickValues
		}
	}
	if p.seconds == 0 {
		p.seconds = 0.2
		if p.quick {
			p.seconds = 0.05
		}
	}
	runtime.GOMAXPROCS(p.workers)
	printLine(map[string]interface{}{
		"version":       strings.TrimPrefix(runtime.Version(), "go"),
		"configuration": configuration,
	})
	return p
}

func parseList(name, text string) []int {
	var values []int
	for _, each := range strings.Split(text, ",") {
		value, err := strconv.Atoi(each)
		if err != nil || value < 0 {
			fmt.Fprintf(os.Stderr, "-%s: '%s' is not a list of numbers like 2,100\n", name, text)
			os.Exit(2)
		}
		values = append(values, value)
	}
	return values
}

func printLine(line map[string]interface{}) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

// Require ends the program unless condition: a peer that loses work must not get a number.
func Require(condition bool, message string) {
	if !condition {
		fmt.Fprintln(os.Stderr, message)
		os.Exit(1)
	}
}

// Workers is the number of kernel threads that run goroutines.
func (p *Program) Workers() int { return p.workers }

// Values are the values to measure of the parameter name.
func (p *Program) Values(name string) []int { return p.values[name] }

// Unsupported prints that this measurement cannot be made, and why.
func (p *Program) Unsupported(variant string, params Params, reason string) {
	printLine(map[string]interface{}{
		"variant": variant, "workers": p.workers, "params": params, "unsupported": reason,
	})
}

// Measure calls run(count), which must do count times operations operations, first to warm up, then once timed.
func (p *Program) Measure(variant string, params Params, operation string, operations int, run func(count int)) {
	if p.variant == "" || p.variant == variant {
		p.report(variant, params, "ns", "ns/"+operation, p.nanoseconds(run)/float64(operations))
	}
}

// MeasureRate is Measure, and prints operations per second too.
func (p *Program) MeasureRate(variant string, params Params, operation string, operations int, run func(count int)) {
	if p.variant == "" || p.variant == variant {
		each := p.nanoseconds(run) / float64(operations)
		p.report(variant, params, "ns", "ns/"+operation, each)
		p.report(variant, params, "per_second", operation+"s/s", 1e9/each)
	}
}

func (p *Program) nanoseconds(run func(count int)) float64 {
	seconds := func(count int) float64 {
		start := time.Now()
		run(count)
		return time.Since(start).Seconds()
	}
	count := 1
	elapsed := seconds(count)
	for elapsed < p.seconds/4 {
		if elapsed < p.seconds/64 {
			count *= 8
		} else {
			count *= 2
		}
		elapsed = seconds(count)
	}
	count = int(float64(count) * p.seconds / elapsed)
	if count < 1 {
		count = 1
	}
	return seconds(count) * 1e9 / float64(count)
}

func (p *Program) report(variant string, params Params, metric, unit string, value float64) {
	if params == nil {
		params = Params{}
	}
	printLine(map[string]interface{}{
		"variant": variant, "workers": p.workers, "params": params, "metric": metric, "unit": unit, "value": value,
	})
}
