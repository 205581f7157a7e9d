package rollout

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

// declaredBounds computes the bounds of a rollout by the original's documentation, independently of [Bounds],
// to find errors there: maxSurge is a number, or a percentage of replicas rounded up; maxUnavailable a
// number, or a percentage rounded down, and no more than replicas; if both are 0, one machine may be
// unavailable; no machine is created to update nodes that a user selects; a deployment of 0 replicas, and a
// strategy without steps, has neither.
func declaredBounds(d Deployment) (surge, unavailable int) {
	stepwise := d.Strategy == Rolling || d.Strategy == InPlace
	if !stepwise || d.Replicas < 1 {
		return 0, 0
	}
	if !d.ByHand {
		surge = declared(d.Surge, func(percent int) int { return (percent*d.Replicas + 99) / 100 })
	}
	unavailable = declared(d.Unavailable, func(percent int) int { return percent * d.Replicas / 100 })
	if surge+unavailable == 0 {
		unavailable = 1
	}
	if unavailable > d.Replicas {
		unavailable = d.Replicas
	}
	return surge, unavailable
}

// declared returns the value of a number or a percentage; anything else, and a negative value, is 0.
func declared(v *intstr.IntOrString, share func(percent int) int) int {
	if v == nil {
		return 0
	}
	digits, percent := strings.CutSuffix(v.String(), "%")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil, n < 0, v.Type == intstr.String && !percent:
		return 0
	case percent:
		return share(n)
	}
	return n
}

func TestBoundsAreAsDeclared(t *testing.T) {
	texts := []string{"", "0", "1", "2", "7", "-1", "0%", "1%", "25%", "33%", "50%", "99%", "100%", "250%", "-20%", "a few"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) *intstr.IntOrString {
			text := rapid.SampledFrom(texts).Draw(t, name)
			if text == "" {
				return nil
			}
			return bound(text)
		}
		d := Deployment{
			Replicas: rapid.IntRange(-1, 40).Draw(t, "replicas"), Strategy: rapid.SampledFrom(strategies).Draw(t, "strategy"),
			Surge: draw("surge"), Unavailable: draw("unavailable"), ByHand: rapid.Bool().Draw(t, "by hand"),
		}
		surge, unavailable := Bounds(d)
		if s, u := declaredBounds(d); s != surge || u != unavailable {
			t.Fatalf("%s of %d, surge %v, unavailable %v, by hand %v: surge %d and unavailable %d, declared are %d and %d",
				d.Strategy, d.Replicas, d.Surge, d.Unavailable, d.ByHand, surge, unavailable, s, u)
		}
	})
}
