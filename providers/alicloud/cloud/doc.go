// Package cloud runs machines on Alibaba Cloud, as instances of Elastic Compute Service (ECS).
//
// Specs of both APIs become a plan (plan.go), and a plan becomes one RunInstances request with the machine's
// token, so that a machine has one instance however often the call is repeated. Instances, their disks and
// network interfaces have the machine's UID in a tag, which the creating request sets.
package cloud
