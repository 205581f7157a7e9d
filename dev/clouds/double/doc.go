// Package double has the common parts of cloud simulators, so that each simulator has only the parts that are specific to
// its cloud. The common parts are a clock that can be advanced, listings that lag, faults, rate limits, a log of requests,
// credentials, capacity, and instances that boot.
//
// A simulator is a [Cloud], whose answers have the form of the real cloud's answers, behind a [Server], which is an
// http.Handler. Tests use both; users use the [Server]'s console, which `millwright cloud` calls.
//
// # A new simulator
//
// Its state embeds the common parts:
//
//	type Cloud struct {
//		double.Controls                         // the verbs of the console: Verbs, Do
//		double.Conditions                       // capacity of places, and lists that lag: Full, Exhausted, Lag
//		double.Inbox[request]                   // the last requests, for tests: Received
//		*double.Credentials[key]                // the accepted keys: Revoke, Restore, SetCredentials
//		instances *double.Table[instance]       // objects, also as they were some time ago
//		mu        sync.Mutex
//	}
//
//	c.SetCapacity(o.Inventory.Capacity)
//	onInstance := double.OnInstance(&c.mu, c.instances.Get)
//	c.Controls = append(c.ExhaustVerbs("a zone, or zone/type"), c.LagVerb(),
//		double.UntagVerb("untag", c.instances, func(i *instance) *map[string]string { return &i.Tags }),
//		double.Verb{Name: "stop", On: "an instance", Do: onInstance(c.stop)})
//
// The handlers use them: Credentials.Find identifies a caller, and AcceptsUnknown is the option --accept-any.
// [Permitted] checks patterns of operations. Full refuses an instance. Lists read Table.AllBehind(c.Lag()). Remember records a
// request. [Hex], [UUID] and [FreeAddress] are for new objects. [Table.Change] changes one.
//
// What remains are the methods of [Cloud] (the requests, and the words of errors for a [Failure]), [Host] (the instances that
// run), Instances and Orphans of [Inspected], and Issue of [Lender], whose keys have the form of the cloud. A function
// that returns the dependants by instance serves both Instances and Orphans: the latter are those of the instance "".
//
// Package form reads query APIs, and package jwt checks tokens that service accounts sign.
package double
