// Package gce simulates Google Compute Engine: instances, disks and what they need, the operations that
// report the outcome of requests, load balancers of control planes, tag values of Resource Manager, the
// endpoints that issue tokens to service accounts and external identities, and the metadata server of
// instances.
//
// The form of answers follows the discovery document of compute/v1 (version 20251022 of google.golang.org/api v0.255.0) and,
// for errors, operations that users have published. A shortage and an exceeded quota are not errors of the request: the
// request is accepted, the instance is in PROVISIONING, and seconds later the operation is DONE with an error, and the
// instance is deleted.
//
// Credentials are checked: a token is issued for a JWT with the signature of an accepted key, and each call
// requires the permissions that Compute Engine requires.
package gce
