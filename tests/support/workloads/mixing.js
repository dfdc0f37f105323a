// SPDX-License-Identifier: GPL-2.0-or-later
// Loops that the JIT compiles, objects for the garbage collector. argv: rounds.
"use strict";

const rounds = Number(process.argv[2] || 50);
let total = 0;

function collatz(n) {
    let steps = 0;
    while (n !== 1) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

for (let round = 1; round <= rounds; round++) {
    const found = new Map();
    for (let n = 1; n < 2000; n++) {
        const steps = collatz(n * round);
        found.set(`${steps}`, { n, list: [steps, ...(found.get(`${steps}`)?.list ?? []).slice(0, 3)] });
    }
    total = (total * 31 + found.size + [...found.values()].reduce((sum, one) => sum + one.n, 0)) % 1000003;
}
console.log(`total ${total}`);
