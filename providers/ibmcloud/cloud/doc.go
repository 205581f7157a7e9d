// Package cloud runs machines on IBM Cloud VPC, as virtual server instances.
//
// A spec becomes a plan (plan.go), and a plan becomes one request to create an instance. VPC has no tokens
// for requests. Two names prevent a second instance: those of an instance and of a volume are unique in the
// region, and the name of the boot volume has the machine's token. Tags are written by another service, after
// the instance exists. Therefore the identity of the machine is in the names of the instance's parts, which
// the creating request sets and each listing shows (marks.go).
//
// The package calls the few needed requests of the REST API itself: the vendor's SDK is one package for the
// whole API, with 7.5 MB of source.
package cloud
