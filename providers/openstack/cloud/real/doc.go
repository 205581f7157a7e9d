// Package real tests the provider against a real OpenStack: that of hack/openstack, or one that a clouds.yaml describes, whose path is in
// OS_CLOUD_REAL. Without it nothing is tested. `make test-openstack` does both.
//
// The clouds.yaml has the clouds "machines", a member of a project whose network is net1, and "admin". There are a network shared1 of
// another project, a flavor m1.test, an image rhcos and a key pair k.
package real
