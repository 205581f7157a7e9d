// Package nova is a double of OpenStack: Keystone (tokens), Nova (servers), Neutron (ports), Glance (images) and Cinder (volumes), as
// far as machines need them. The shapes of its answers are those that a real OpenStack gave (keystone 22, glance 25, neutron 21,
// nova 26), which are kept in testdata; what was not recorded follows the API references of docs.openstack.org.
//
// Habits that hurt are there on purpose: Nova knows no idempotency of create; a port that was made beforehand outlives its server; it is
// bound only some time after the server was accepted; a quota is a 403; no room is an answer of 202 and a server in ERROR.
package nova
