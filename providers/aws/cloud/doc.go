// Package cloud runs machines on AWS: on EC2, with Elastic Load Balancing for machines of control planes.
//
// Specs of both APIs become a plan (plan.go), and a plan becomes one RunInstances request with the
// machine's token, so that a machine has one instance however often the call is repeated. Instances, their
// disks and network interfaces carry the machine's UID in a tag; a dedicated host that is allocated for one
// carries it too. Recent answers about images, subnets, types and the like are cached (memo.go).
package cloud
