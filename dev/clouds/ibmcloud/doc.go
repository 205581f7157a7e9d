// Package ibmcloud simulates one region of IBM Cloud VPC, with IAM, resource groups and tags, as machine controllers call them.
//
// The names of fields and the lists of states and reasons are those of the published models of VPC (vpc-go-sdk v0.78.1), codes
// and texts of errors those of its documentation. An instance for which its zone has no capacity is accepted, and fails when it
// starts: VPC documents no other answer. Facts that IBM Cloud does not document are choices of this package: the order of
// checks, the statuses of refusals of quotas, and that listings can lag.
package ibmcloud
