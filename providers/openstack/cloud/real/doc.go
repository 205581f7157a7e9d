// Package real tests the provider against a real OpenStack: that of hack/openstack, or one that the
// clouds.yaml at the path OS_CLOUD_REAL describes. Without it the tests are skipped. `make test-openstack`
// does both.
//
// The clouds.yaml has the clouds "machines", a member of a project whose network is net1, and "admin".
// There are a network shared1 of another project, a flavor m1.test, an image rhcos and a key pair k.
package real
