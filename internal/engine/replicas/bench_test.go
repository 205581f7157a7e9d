package replicas

import (
	"fmt"
	"math/rand"
	"testing"
	"time"
)

// budget is the maximum duration of a decision about a set of 5000.
const budget = 10 * time.Millisecond

// crowd is a set's n machines: of all ages, out of order, the last ones
// changed by changes.
func crowd(n, changed int, changes ...func(*Member)) []Member {
	out := many(n)
	chance := rand.New(rand.NewSource(1))
	for i := range out {
		out[i].Created = now.Add(-time.Duration(chance.Intn(1e6)) * time.Second)
		if i < changed {
			for _, c := range changes {
				c(&out[i])
			}
		}
	}
	chance.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// The decision of one pass over a set of 5000, with the steps before and after it.
func BenchmarkDecide5000(b *testing.B) {
	const n = 5000
	policies := map[string]Policy{"replacing": replacing, "keeping": keeping, "keeping, oldest": {Burst: 500, Order: []Criterion{OldestFirst}}}
	cases := []struct {
		name     string
		replicas int
		members  []Member
		deleting bool
	}{
		{"at rest", n, crowd(n, 0), false},
		{"growing", 2 * n, crowd(n, 0), false},
		{"a hundred too many", n - 100, crowd(n, 0), false},
		{"all too many", 0, crowd(n, 0), false},
		{"all failed", n, crowd(n, n, failed), false},
		{"half on their way out", n / 2, crowd(n, n/2, deleting), false},
		{"chosen by the autoscaler", n, crowd(n, 500, marked1), false},
		{"deleted", n, crowd(n, 0), true},
	}
	for name, p := range policies {
		for _, c := range cases {
			b.Run(fmt.Sprintf("%s/%s", name, c.name), func(b *testing.B) {
				set := Set{UID: "set", Name: "set", Replicas: c.replicas, Deleting: c.deleting, Scaled: now}
				best := time.Hour
				b.ReportAllocs()
				for b.Loop() {
					begun := time.Now()
					AutoKeep(set, c.members)
					Decide(now, set, c.members, p)
					Count(now, c.members, p)
					best = min(best, time.Since(begun))
				}
				b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
				if best > budget {
					b.Errorf("%s at best, want at most %s", best, budget)
				}
			})
		}
	}
}
