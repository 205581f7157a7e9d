package limits

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

func surge(v string) *intstr.IntOrString {
	s := intstr.Parse(v)
	return &s
}

func TestBounds(t *testing.T) {
	alone := func(replicas int) Crowd { return Crowd{Replicas: replicas} }
	under := func(replicas, parent int, s *intstr.IntOrString) Crowd {
		return Crowd{Replicas: replicas, Parent: &Parent{Replicas: parent, Surge: s}}
	}
	tests := map[string]struct {
		reason    string
		crowd     Crowd
		margins   Margins
		high, low int
	}{
		"no parent":                    {"2 x 10 + 2", alone(10), DefaultMargins, 22, 21},
		"no parent, none wanted":       {"2 x 0 + 2", alone(0), DefaultMargins, 2, 1},
		"parent, surge a number":       {"10 + 3 + 2", under(4, 10, surge("3")), DefaultMargins, 15, 14},
		"parent, surge a percentage":   {"10 + 2.5 rounded up + 2", under(4, 10, surge("25%")), DefaultMargins, 15, 14},
		"parent, no surge":             {"all at once: 10 + 0 + 2, where the original gives up", under(10, 10, nil), DefaultMargins, 12, 11},
		"parent, surge above 100 %":    {"accepted: 10 + 15 + 2", under(10, 10, surge("150%")), DefaultMargins, 27, 26},
		"parent, surge not readable":   {"counts as none", under(10, 10, surge("a few")), DefaultMargins, 12, 11},
		"parent, surge negative":       {"counts as none", under(10, 10, surge("-4")), DefaultMargins, 12, 11},
		"parent, percentage negative":  {"counts as none", under(10, 10, surge("-40%")), DefaultMargins, 12, 11},
		"parent, replicas negative":    {"count as none", under(0, -3, surge("50%")), DefaultMargins, 2, 1},
		"parent smaller than the set":  {"scaled down just now; the parent's number counts", under(10, 3, surge("1")), DefaultMargins, 6, 5},
		"margins asked for":            {"2 x 3 + 5, and 4 fewer", alone(3), Margins{Up: 5, Down: 4}, 11, 7},
		"no margins":                   {"the two numbers differ all the same", alone(3), Margins{}, 6, 5},
		"no margins, none wanted":      {"no machine is not too many", alone(0), Margins{}, 1, 0},
		"no margins, parent, no surge": {"having what is wanted is not too many", under(3, 3, nil), Margins{}, 4, 3},
		"down below what is wanted":    {"thaws where the scale-down ends, or it never would", alone(3), Margins{Up: 2, Down: 9}, 8, 3},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if high, low := tc.crowd.Bounds(tc.margins); high != tc.high || low != tc.low {
				t.Errorf("%s: freezes at %d, thaws at %d; want %d, %d", tc.reason, high, low, tc.high, tc.low)
			}
		})
	}
}

// A set of 2 by itself freezes at 6 and thaws at 5.
func TestJudge(t *testing.T) {
	tests := map[string]struct {
		reason        string
		machines      int
		frozen, asked bool
		want          Act
		message       string
	}{
		"few":                  {"nothing to do", 5, false, false, Leave, "5 machines, fewer than 6"},
		"at high":              {"reached is too many", 6, false, false, Freeze, "6 machines, and 6 are too many: no more are created until there are 5"},
		"above high":           {"far too many", 12, false, false, Freeze, "12 machines, and 6 are too many: no more are created until there are 5"},
		"frozen, at high":      {"stays", 6, true, false, Leave, "6 machines, and 6 are too many: no more are created until there are 5"},
		"frozen, at low":       {"few enough", 5, true, false, Thaw, "5 machines: more may be created again"},
		"frozen, none":         {"few enough", 0, true, false, Thaw, "0 machines: more may be created again"},
		"frozen, asked":        {"a person knows better", 12, true, true, Thaw, "12 machines, thawed on request"},
		"asked, but not so":    {"the request is taken away", 3, false, true, Thaw, "3 machines, thawed on request"},
		"asked, about to":      {"granted once", 12, false, true, Thaw, "12 machines, thawed on request"},
		"asked once, too many": {"the request was granted and is gone", 12, false, false, Freeze, "12 machines, and 6 are too many: no more are created until there are 5"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Judge(Crowd{Replicas: 2, Machines: tc.machines, Frozen: tc.frozen, Asked: tc.asked}, DefaultMargins)
			if got.Act != tc.want || got.Message != tc.message {
				t.Errorf("%s: got %s, %q; want %s, %q", tc.reason, got.Act, got.Message, tc.want, tc.message)
			}
		})
	}
}

// Between the two numbers a set stays what it was.
func TestHysteresis(t *testing.T) {
	margins := Margins{Up: 2, Down: 3} // of 4 replicas: freezes at 10, thaws at 7
	frozen := false
	for i, step := range []struct {
		machines int
		frozen   bool
	}{{4, false}, {9, false}, {10, true}, {9, true}, {8, true}, {10, true}, {7, false}, {9, false}, {10, true}, {0, false}} {
		switch Judge(Crowd{Replicas: 4, Machines: step.machines, Frozen: frozen}, margins).Act {
		case Freeze:
			frozen = true
		case Thaw:
			frozen = false
		case Leave:
		}
		if frozen != step.frozen {
			t.Fatalf("step %d: with %d machines frozen is %v", i, step.machines, frozen)
		}
	}
}

func drawCrowd(t *rapid.T) Crowd {
	c := Crowd{
		Replicas: rapid.IntRange(-1, 20).Draw(t, "replicas"), Machines: rapid.IntRange(0, 60).Draw(t, "machines"),
		Frozen: rapid.Bool().Draw(t, "frozen"),
	}
	if rapid.Bool().Draw(t, "has a parent") {
		c.Parent = &Parent{Replicas: rapid.IntRange(-1, 20).Draw(t, "parent")}
		if v := rapid.SampledFrom([]string{"", "0", "1", "7", "-2", "0%", "10%", "33%", "200%", "-5%", "x"}).Draw(t, "surge"); v != "" {
			c.Parent.Surge = surge(v)
		}
	}
	return c
}

func drawMargins(t *rapid.T) Margins {
	return Margins{Up: rapid.IntRange(0, 8).Draw(t, "up"), Down: rapid.IntRange(0, 8).Draw(t, "down")}
}

// After the decision is carried out, and without other changes, there is no further decision. The wanted size
// at rest never freezes a set, and thaws it.
func TestJudgeComesToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, m := drawCrowd(t), drawMargins(t)
		c.Asked = rapid.Bool().Draw(t, "asked")
		first := Judge(c, m)
		c.Frozen = first.Act == Freeze || first.Act == Leave && c.Frozen
		asked := c.Asked
		c.Asked = false
		second := Judge(c, m)
		if asked && second.Act == Freeze {
			c.Frozen = true // granted once, and too many still
			second = Judge(c, m)
		}
		if second.Act != Leave {
			t.Fatalf("%+v with %+v: %s, and then %s", c, m, first.Act, second.Act)
		}
		c.Machines = max(0, c.Replicas)
		if c.Parent != nil && c.Parent.Replicas < c.Replicas {
			return // its deployment is about to scale it down
		}
		if got := Judge(c, m); got.Act == Freeze || c.Frozen && got.Act != Thaw {
			t.Fatalf("%+v with %+v has what it wants, and is to %s", c, m, got.Act)
		}
	})
}
