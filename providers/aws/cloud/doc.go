// Package cloud runs machines on AWS: on EC2, with Elastic Load Balancing for machines of control planes.
//
// Specs of both APIs become a plan (plan.go), and a plan becomes one RunInstances request with the machine's token, so
// that a machine has one instance whatever is repeated. Instances, their disks and network interfaces carry the machine's UID in
// a tag; a dedicated host that is allocated for one carries it too. What was asked lately of images, subnets, types and the
// like is not asked again (memo.go).
package cloud
