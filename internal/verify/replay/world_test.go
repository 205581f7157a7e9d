package replay

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// outage is one of a fleet of ten with the troubles.
func outage(t *testing.T, lasts, troubles string) Outage {
	t.Helper()
	o, err := Parse([]byte(fmt.Sprintf("title: t\nlasts: %s\nfleet: [{set: a, zone: a, rack: r, template: v, machines: 10}]\ntroubles: [%s]\n", lasts, troubles)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// until lets time pass.
func (w *world) until(now time.Duration) *world {
	for w.now < now {
		w.step()
	}
	return w
}

// shown is how many nodes show each status.
func (w *world) shown() string {
	n := map[string]int{}
	for _, m := range w.machines {
		switch {
		case m.gone:
			n["gone"]++
		case !m.linked:
			n["none"]++
		default:
			n[m.ready]++
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(n), "map["), "]")
}

func TestWorld(t *testing.T) {
	for _, c := range []struct {
		reason, troubles string
		at               time.Duration
		want             string
	}{
		{"nothing happens", "", time.Hour, "True:10"},
		{"silence is not seen at once", "{kind: silent, at: 1m}", 90 * time.Second, "True:10"},
		{"but after 40 s", "{kind: silent, at: 1m}", 100 * time.Second, "Unknown:10"},
		{"kubelets are heard again one after the other", "{kind: silent, at: 1m, for: 5m}", 6*time.Minute + 20*time.Second, "True:6 Unknown:4"},
		{"and all after 40 s", "{kind: silent, at: 1m, for: 5m}", 6*time.Minute + 40*time.Second, "True:10"},
		{"what a kubelet says is seen at once", "{kind: notready, at: 1m, for: 1m, first: 3}", time.Minute, "False:3 True:7"},
		{"and taken back at once", "{kind: notready, at: 1m, for: 1m, first: 3}", 2 * time.Minute, "True:10"},
		{"taken back instances stay away", "{kind: gone, at: 1m, for: 1m, first: 2}", time.Hour, "True:8 gone:2"},
		{"every third", "{kind: notready, at: 1m, every: 3}", time.Hour, "False:4 True:6"},
		{"one after the other", "{kind: notready, at: 1m, stagger: 1m}", 3 * time.Minute, "False:3 True:7"},
		{"down and up: down", "{kind: notready, at: 1m, down: 2m, up: 3m}", 7 * time.Minute, "False:10"},
		{"down and up: up", "{kind: notready, at: 1m, down: 2m, up: 3m}", 5 * time.Minute, "True:10"},
		{"another zone", "{kind: notready, at: 1m, zone: b}", time.Hour, "True:10"},
		{"another rack", "{kind: notready, at: 1m, rack: b}", time.Hour, "True:10"},
		{"another template", "{kind: notready, at: 1m, template: b}", time.Hour, "True:10"},
		{"another set", "{kind: notready, at: 1m, set: b}", time.Hour, "True:10"},
	} {
		o := outage(t, "1h", c.troubles)
		if got := newWorld(&o).until(c.at).shown(); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}

// A machine that is deleted is replaced at once, and gone after two minutes. The
// new one joins after three, unless something keeps it.
func TestReplacement(t *testing.T) {
	for _, c := range []struct {
		reason, troubles string
		at               time.Duration
		want             string
	}{
		{"the next tick", "", 70 * time.Second, "True:10 none:1"},
		{"gone", "", 3 * time.Minute, "True:9 none:1"},
		{"joined", "", 4*time.Minute + 10*time.Second, "True:10"},
		{"nobody joins", "{kind: barred, at: 2m, for: 8m}", 9 * time.Minute, "True:9 none:1"},
		{"and then they do", "{kind: barred, at: 2m, for: 8m}", 10 * time.Minute, "True:10"},
		{"a machine that is not heard of does not join", "{kind: silent, at: 4m, for: 6m}", 9 * time.Minute, "Unknown:9 none:1"},
		{"made of a bad image", "{kind: doomed, at: 0s, for: 2m}", time.Hour, "True:9 none:1"},
		{"slow", "{kind: slow, at: 0s, for: 2m, boot: 9m}", 10 * time.Minute, "True:9 none:1"},
		{"slow, and there", "{kind: slow, at: 0s, for: 2m, boot: 9m}", 10*time.Minute + 10*time.Second, "True:10"},
		{"trouble of the first ones is not that of their successors", "{kind: silent, at: 1m, first: 1}", 10 * time.Minute, "True:10"},
	} {
		o := outage(t, "1h", c.troubles)
		w := newWorld(&o).until(time.Minute)
		w.remove(w.machines[0])
		w.remove(w.machines[0])
		if got := w.until(c.at).shown(); got != c.want || len(w.removed) != 1 {
			t.Errorf("%s: %s, %d removed, want %s", c.reason, got, len(w.removed), c.want)
		}
	}
}

// What is counted: of ten machines one is missing for ten minutes.
func TestResult(t *testing.T) {
	for _, c := range []struct {
		reason, troubles string
		want             Result
	}{
		{"a while", "{kind: silent, at: 10m, for: 10m, first: 1}", Result{Missing: 10 * time.Minute}},
		{"for good", "{kind: silent, at: 50m, first: 1}", Result{Missing: 10*time.Minute + tick, Down: 1}},
	} {
		got := play(outage(t, "1h", c.troubles), idle{})
		got.Missing = got.Missing.Round(time.Minute)
		c.want.Missing = c.want.Missing.Round(time.Minute)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.reason, got, c.want)
		}
	}
	for troubles, vain := range map[string]bool{
		"{kind: notready, at: 1m, for: 1m, first: 1}":            true,
		"{kind: notready, at: 1m, first: 1}":                     false,
		"{kind: notready, at: 1m, down: 1m, up: 9m, first: 1}":   false,
		"{kind: gone, at: 1m, for: 1m, first: 1}":                false,
		"{kind: notready, at: 1m, for: 1m, zone: b, first: 1}":   true,
		"{kind: barred, at: 1m, first: 1}":                       true,
		"{kind: silent, at: 1m, stagger: 1h, for: 5h, every: 3}": false,
	} {
		o := outage(t, "1h", troubles)
		w := newWorld(&o).until(time.Hour)
		if got := !w.lost(w.machines[0]); got != vain {
			t.Errorf("%s: in vain %v, want %v", troubles, got, vain)
		}
	}
}
