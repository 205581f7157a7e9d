package rollout

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestBounds(t *testing.T) {
	negative := intstr.FromInt32(-1)
	tests := map[string]struct {
		reason             string
		d                  Deployment
		surge, unavailable int
	}{
		"4.4 numbers":                       {"as they are", rolls(10, "3", "2"), 3, 2},
		"4.4 surge is rounded up":           {"25 % of 10 are 2.5", rolls(10, "25%", "1"), 3, 1},
		"4.4 unavailable is rounded down":   {"25 % of 10 are 2.5", rolls(10, "1", "25%"), 1, 2},
		"4.4 both 0":                        {"one may be unavailable, or nothing could move", rolls(10, "0", "0"), 0, 1},
		"4.4 T24 surge 0 %, 1 % of 2":       {"1 % of 2 is rounded down to 0, and fenced", rolls(2, "0%", "1%"), 0, 1},
		"4.4 unavailable above replicas":    {"more than there are cannot be", rolls(3, "1", "7"), 1, 3},
		"4.4 unavailable above 100 %":       {"more than there are cannot be", rolls(3, "1", "250%"), 1, 3},
		"4.4 surge above 100 %":             {"three times as many for a while, if somebody asks for it", rolls(3, "200%", "0"), 6, 0},
		"4.4 surge above replicas":          {"likewise", rolls(3, "7", "0"), 7, 0},
		"4.4 no replicas":                   {"nothing to keep available, nothing to exceed", rolls(0, "3", "2"), 0, 0},
		"4.4 no replicas, both 0":           {"no fence where there is nothing to move", rolls(0, "0", "0"), 0, 0},
		"4.4 Recreate":                      {"all go before others come, and that is not a bound", rolls(10, "3", "2").by(strategy(Recreate)), 0, 0},
		"OnDelete":                          {"people set the pace", rolls(10, "3", "2").by(strategy(OnDelete)), 0, 0},
		"4.4 InPlace Auto":                  {"as in a rolling update", rolls(10, "3", "2").by(strategy(InPlace)), 3, 2},
		"4.4 InPlace Manual":                {"no machine is made for it", rolls(10, "3", "2").by(strategy(InPlace), byHand), 0, 2},
		"4.4 InPlace Manual, 0 unavailable": {"fenced, since surge does not count", rolls(10, "3", "0").by(strategy(InPlace), byHand), 0, 1},
		"negative":                          {"counts as none", rolls(4, "1", "1").by(func(d *Deployment) { d.Surge, d.Unavailable = &negative, &negative }), 0, 1},
		"not declared":                      {"counts as none", rolls(4, "1", "1").by(func(d *Deployment) { d.Surge, d.Unavailable = nil, nil }), 0, 1},
		"neither number nor percentage":     {"counts as none", rolls(4, "many", "few"), 0, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			surge, unavailable := Bounds(tt.d)
			if surge != tt.surge || unavailable != tt.unavailable {
				t.Errorf("surge %d and unavailable %d, expected %d and %d: %s", surge, unavailable, tt.surge, tt.unavailable, tt.reason)
			}
		})
	}
}

func byHand(d *Deployment) { d.ByHand = true }
