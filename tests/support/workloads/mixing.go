// SPDX-License-Identifier: GPL-2.0-or-later
// Goroutines that are busy without a call, and a map, and the garbage collector. argv: rounds.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

func collatz(n uint64) int {
	steps := 0
	for n != 1 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
		steps++
	}
	return steps
}

func work(rounds uint64) int {
	total := 0
	for round := uint64(1); round <= rounds; round++ {
		found := map[int][]uint64{}
		for n := uint64(1); n < 2000; n++ {
			steps := collatz(n * round)
			found[steps] = append(found[steps], n)
		}
		for steps := 0; steps < 400; steps++ {
			total = (total*31 + len(found[steps])) % 1000003
		}
	}
	return total
}

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	results := make([]int, 3)
	var group sync.WaitGroup
	for i := range results {
		group.Add(1)
		go func(mine int) {
			defer group.Done()
			results[mine] = work(uint64(rounds + mine))
		}(i)
	}
	group.Wait()
	fmt.Println("results", results)
}
