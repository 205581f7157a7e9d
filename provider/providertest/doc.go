// Package providertest tests providers: a conformance suite that every provider runs against its simulator
// ([Run]), a decorator that injects faults ([Faults]), and a small in-memory infrastructure with a provider
// that conforms ([Cloud]).
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, func(t *testing.T) providertest.Harness {
//			d := newDouble(t)
//			return providertest.Harness{
//				Start: func() provider.Provider { return shelf.New(d.URL) },
//				Class: d.class,
//				Knobs: providertest.Knobs{Inject: d.fail, Count: d.count},
//			}
//		})
//	}
//
// If a knob is nil, the checks that need it are skipped, and report that.
//
// A check of the suite is a function that returns an error ([Checks]), so that the suite itself can be
// tested: it must pass a correct provider and fail each of a set of deliberately broken ones, and no check
// may pass them all.
package providertest
