// Package nova simulates OpenStack: Keystone (tokens), Nova (servers), Neutron (ports), Glance (images) and
// Cinder (volumes), as far as machines need them. Its answers have the form of a real OpenStack's answers
// (keystone 22, glance 25, neutron 21, nova 26), which are recorded in testdata; other answers follow the API
// references of docs.openstack.org.
//
// It reproduces the inconvenient behaviour of the real services. Creation in Nova is not idempotent. A port that was created
// separately outlives its server. A port is bound only some time after the server was accepted. An exceeded quota is a 403.
// Without capacity, the answer is 202 and the server ends in ERROR.
package nova
