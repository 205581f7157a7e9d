package providertest_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// harness is the suite's harness for the reference cloud, whose provider wrap decorates.
func harness(wrap func(provider.Provider) provider.Provider) providertest.Harness {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	c := providertest.NewCloud(clk)
	return providertest.Harness{
		Start:    func() provider.Provider { return wrap(c.Provider()) },
		Class:    c.Class,
		PageSize: c.Page,
		Prompt:   time.Second,
		ProviderID: map[string]*regexp.Regexp{
			provider.OpenShift: regexp.MustCompile(`^example://i-[0-9a-f]+$`),
			provider.Gardener:  regexp.MustCompile(`^example:///i-[0-9a-f]+$`),
		},
		Spellings: func(i provider.Instance) []string { return []string{"EXAMPLE://" + strings.ToUpper(i.ID)} },
		Changed: func(class provider.Class) provider.Class {
			class.Spec = []byte(`{"size":"large","zone":"a"}`)
			return class
		},
		Choices: func(class provider.Class) provider.Class {
			class.Spec = []byte(`{"size":"small","zone":"a","zones":["b"]}`)
			return class
		},
		BadSpecs: []providertest.BadSpec{
			{Reason: "an unknown field", Spec: `{"size":"small","sice":1}`, Field: "sice"},
			{Reason: "a field of the wrong type", Spec: `{"size":7}`, Field: "size"},
			{Reason: "a value out of range", Spec: `{"size":"huge"}`, Field: "size"},
			{Reason: "a zone given twice", Spec: `{"size":"small","zone":"a","zones":["b","a"]}`, Field: "zones[1]"},
			{Reason: "a field given twice", Spec: `{"size":"small","size":"large"}`, Field: "size"},
		},
		Knobs: providertest.Knobs{
			Advance: clk.Step,
			Inject:  c.Inject, Lag: c.Lag, Plant: c.Plant, Remove: c.Remove,
			Strip: providertest.Strip(c), Leave: c.Leave, GiveUp: c.GiveUp, Count: c.Count, Rotate: c.Rotate,
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				return wrap(providertest.NewCloud(clk).Provider()).Open(ctx, class)
			},
		},
	}
}

func unchanged(p provider.Provider) provider.Provider { return p }

func TestReferenceConforms(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Harness { return harness(unchanged) })
}

// TestNothingSkipped keeps the reference cloud complete: a skipped check would be a check that no mutant
// tests.
func TestNothingSkipped(t *testing.T) {
	may := map[string]string{"spec reader": "the reference provider's specs name no secrets"}
	for _, c := range providertest.Checks() {
		err := c.Run(context.Background(), harness(unchanged), provider.OpenShift)
		if providertest.Skipped(err) && may[c.Name] == "" {
			t.Errorf("%s is skipped: %v", c.Name, err)
		}
	}
}
