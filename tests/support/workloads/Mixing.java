// SPDX-License-Identifier: GPL-2.0-or-later
// Loops that the JIT compiles, in two threads, objects for the garbage collector. argv: rounds.

import java.util.HashMap;
import java.util.Map;

public class Mixing {
    static int collatz(long n) {
        int steps = 0;
        while (n != 1) {
            n = n % 2 == 0 ? n / 2 : 3 * n + 1;
            steps++;
        }
        return steps;
    }

    static long work(int rounds) {
        long total = 0;
        for (int round = 1; round <= rounds; round++) {
            Map<Integer, String> found = new HashMap<>();
            for (int n = 1; n < 2000; n++) {
                int steps = collatz((long) n * round);
                found.merge(steps, "x", (a, b) -> a.length() > 20 ? b : a + b);
            }
            for (Map.Entry<Integer, String> one : found.entrySet()) {
                total = (total * 31 + one.getKey() + one.getValue().length()) % 1000003;
            }
        }
        return total;
    }

    public static void main(String[] args) throws InterruptedException {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 50;
        long[] results = new long[2];
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            int mine = i;
            threads[i] = new Thread(() -> results[mine] = work(rounds + mine));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("results " + results[0] + " " + results[1]);
    }
}
