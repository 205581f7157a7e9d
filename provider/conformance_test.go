package provider_test

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// TestExampleConforms runs the conformance suite on the example of the documentation.
func TestExampleConforms(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Harness {
		s := &shelf{}
		return providertest.Harness{
			Start: func() provider.Provider { return s },
			Class: func(api, cluster string) provider.Class {
				return provider.Class{API: api, Cluster: cluster, Spec: []byte(`{"width":3}`)}
			},
			BadSpecs: []providertest.BadSpec{
				{Reason: "an unknown field", Spec: `{"with":3}`, Field: "with"},
				{Reason: "a value out of range", Spec: `{}`, Field: "width"},
			},
			Knobs: providertest.Knobs{
				Plant: func(class provider.Class, i provider.Instance) error {
					i.Tags = map[string]string{clusterTag: class.Cluster}
					i.ID = string(rune('a' + len(s.slots)))
					i.ProviderID = "shelf:///" + i.ID
					s.slots = append(s.slots, i)
					return nil
				},
				Count: func(class provider.Class) (n, _ int, _ error) {
					for _, i := range s.slots {
						if i.Tags[clusterTag] == class.Cluster {
							n++
						}
					}
					return n, 0, nil
				},
			},
		}
	})
}
