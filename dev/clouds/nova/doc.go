// Package nova simulates OpenStack: Keystone (tokens), Nova (servers), Neutron (ports), Glance (images) and
// Cinder (volumes), as far as machines need them. Its answers have the shapes of a real OpenStack's answers
// (keystone 22, glance 25, neutron 21, nova 26), which are recorded in testdata; the others follow the API
// references of docs.openstack.org.
//
// It has the real ones' inconvenient behaviour: creation in Nova is not idempotent; a port that was created
// separately outlives its server; a port is bound only some time after the server was accepted; an exceeded
// quota is a 403; without capacity, the answer is 202 and the server ends in ERROR.
package nova
