package decorate_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// harness is the reference cloud's harness with a decorator.
func harness(t *testing.T, wrap func(*testing.T, *world, provider.Provider) provider.Provider) providertest.Harness {
	w := newWorld()
	c := w.cloud
	return providertest.Harness{
		Start:    func() provider.Provider { return wrap(t, w, c.Provider()) },
		Class:    c.Class,
		PageSize: c.Page,
		Prompt:   time.Second,
		Knobs: providertest.Knobs{
			Advance: w.clock.Step,
			Inject:  c.Inject, Lag: c.Lag, Plant: c.Plant, Remove: c.Remove,
			Strip: providertest.Strip(c), Leave: c.Leave, Count: c.Count, Rotate: c.Rotate,
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				return wrap(t, w, newWorld().cloud.Provider()).Open(ctx, class)
			},
		},
	}
}

// A decorated provider still meets the contract.

func TestMeasuredAndLimitedProviderConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		return harness(t, func(t *testing.T, w *world, p provider.Provider) provider.Provider {
			p, err := decorate.Metrics(p, prometheus.NewRegistry(), w.clock)
			if err != nil {
				t.Fatal(err)
			}
			return decorate.Limit(p, w.clock, decorate.Limits{PerSecond: 1e6})
		})
	})
}

// TestCoalescingProviderConforms lists for the very first Find, so that the suite passes through listings.
// Their age is below the suite's step of a second, so that changes outside are visible after one step.
func TestCoalescingProviderConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		h := harness(t, func(_ *testing.T, w *world, p provider.Provider) provider.Provider {
			return decorate.Coalesce(p, w.clock, decorate.Reads{Enough: 1, Age: 500 * time.Millisecond})
		})
		inject := h.Inject
		h.Inject = func(v providertest.Verb, f providertest.Fault) error {
			if v == providertest.Find {
				return providertest.Skip("a listing answers in place of the Find that would fail")
			}
			return inject(v, f)
		}
		return h
	})
}
