package kubemarkcontroller

import (
	"math/rand/v2"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// faults lets provider calls fail at random, for tests of whole processes.
type faults struct {
	seed uint64
	rate float64
}

func (f *faults) addFlags(fs *pflag.FlagSet) {
	fs.Uint64Var(&f.seed, "fault-seed", 1, "seed of the faults")
	fs.Float64Var(&f.rate, "fault-rate", 0, "share of provider calls, from 0 to 1, that fail or whose reply is lost; for tests")
	for _, name := range []string{"fault-seed", "fault-rate"} {
		_ = fs.MarkHidden(name)
	}
}

// wrap returns p with the faults. Half of the failed Create and Delete calls have taken effect, because only their
// reply is lost.
func (f *faults) wrap(p provider.Provider, clk clock.Clock) provider.Provider {
	if f.rate == 0 {
		return p
	}
	lost := providertest.Fault{Kind: provider.Transient, Done: true}
	refused := providertest.Fault{Kind: provider.Transient}
	var chances []providertest.Chance
	for _, verb := range []providertest.Verb{providertest.Create, providertest.Delete} {
		chances = append(chances,
			providertest.Chance{Verb: verb, P: f.rate / 2, Fault: lost},
			providertest.Chance{Verb: verb, P: f.rate / 2, Fault: refused})
	}
	chances = append(chances, providertest.Chance{Verb: providertest.Find, P: f.rate, Fault: refused})
	return providertest.NewFaults(clk, rand.New(rand.NewPCG(f.seed, 0)), chances...).Wrap(p)
}
