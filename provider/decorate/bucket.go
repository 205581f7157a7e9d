package decorate

import (
	"math"
	"sync"
	"time"
)

// priority orders calls when tokens are short; lower goes first.
type priority int

const (
	deletes priority = iota
	creates
	reads
	priorities
)

func priorityOf(verb string) priority {
	switch verb {
	case Delete:
		return deletes
	case Create, Initialize, Power:
		return creates
	}
	return reads
}

// reserve is the part of the burst that a priority leaves to the priorities before it: with a burst of 100,
// reads stop at 20 tokens and creates at 10.
var reserve = [priorities]float64{deletes: 0, creates: 0.1, reads: 0.2}

const (
	// recovery is the time in which the rate grows from zero to its limit.
	recovery = time.Minute
	// cooldown is the time in which further throttling counts once: calls that ran at the same time all
	// report the same congestion.
	cooldown = time.Second
	// longestTurn is the longest time that a refused call is asked to wait. The bucket counts calls when it
	// refuses them, and some never return, or return twice.
	longestTurn = time.Minute
)

// bucket is a token bucket with an adaptive rate: it grows linearly with time and is halved by throttling.
// It is safe for concurrent use.
type bucket struct {
	limits Limits

	mu     sync.Mutex
	rate   float64 // tokens per second
	tokens float64
	at     time.Time // the time of rate, tokens and owed
	pause  time.Time // no tokens before this time
	halved time.Time
	// owed counts, by priority, the refused calls that are expected to return at the end of their wait.
	owed [priorities]float64
}

func newBucket(l Limits, now time.Time) *bucket {
	return &bucket{limits: l, rate: l.PerSecond, tokens: l.Burst, at: now}
}

// take takes a token. The caller has to wait before it uses the token, at most limits.Wait. If that is not
// enough, the token is not granted, and wait is the time until the next try.
func (b *bucket) take(now time.Time, p priority) (wait time.Duration, granted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	// The last token of a small burst is not reserved: otherwise reads would never run.
	need := min(1+reserve[p]*b.limits.Burst, b.limits.Burst)
	if wait = b.until(now, need-b.tokens); wait <= b.limits.Wait {
		b.tokens--
		return wait, true
	}
	// Calls of a later priority do not count: this call goes before them.
	before := 0.0
	for q := deletes; q <= p; q++ {
		before += b.owed[q]
	}
	b.owed[p]++
	return min(b.until(now, need-b.tokens+before), b.paused(now)+longestTurn), false
}

// paused is the time until the end of the pause, in which no token is granted.
func (b *bucket) paused(now time.Time) time.Duration { return max(0, b.pause.Sub(now)) }

// growth is the increase of the rate per second, rateIn the rate after so many seconds.
func (b *bucket) growth() float64 { return b.limits.PerSecond / recovery.Seconds() }

func (b *bucket) rateIn(seconds float64) float64 {
	return min(b.limits.PerSecond, b.rate+b.growth()*seconds)
}

// until is the time in which this number of tokens arrives, at a growing rate, pauses included.
func (b *bucket) until(now time.Time, tokens float64) time.Duration {
	wait := b.paused(now)
	if tokens <= 0 {
		return wait
	}
	growth, rate := b.growth(), b.rateIn(wait.Seconds())
	grows := (b.limits.PerSecond - rate) / growth // seconds until the rate reaches its limit
	meanwhile := (rate + b.limits.PerSecond) / 2 * grows
	seconds := grows + (tokens-meanwhile)/b.limits.PerSecond
	if tokens < meanwhile {
		seconds = (math.Sqrt(rate*rate+2*growth*tokens) - rate) / growth
	}
	return wait + time.Duration(seconds*float64(time.Second))
}

// refill brings the bucket up to date.
func (b *bucket) refill(now time.Time) {
	seconds := now.Sub(b.at).Seconds()
	if seconds <= 0 {
		return
	}
	b.at = now
	b.rate = b.rateIn(seconds)
	// No token arrives during a pause.
	if running := now.Sub(b.pause).Seconds(); running < seconds {
		seconds = max(0, running)
	}
	came := b.rate * seconds
	b.tokens = min(b.limits.Burst, b.tokens+came)
	for p := range b.owed {
		paid := min(b.owed[p], came)
		b.owed[p] -= paid
		came -= paid
	}
}

// giveBack returns an unused token.
func (b *bucket) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.limits.Burst, b.tokens+1)
}

// throttled lowers the rate after the infrastructure has throttled a call.
func (b *bucket) throttled(now time.Time, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	if until := now.Add(after); after > 0 && until.After(b.pause) {
		b.pause = until
	}
	b.tokens = min(b.tokens, 0)
	if now.Sub(b.halved) < cooldown && !b.halved.IsZero() {
		return
	}
	b.halved = now
	b.rate = max(b.limits.Floor, b.rate/2)
}
