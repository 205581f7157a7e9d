// Package gce is a double of Google Compute Engine: instances, disks and what they need, the operations
// that tell what came of a request, load balancers of control planes, the values of tags of Resource
// Manager, the endpoints that give tokens to service accounts and to identities of elsewhere, and the
// metadata server that instances ask.
//
// Shapes follow the discovery document of compute/v1 (version 20251022 of google.golang.org/api v0.255.0),
// and, for errors, operations as users have shown them: a shortage and a quota are no errors of the
// request. The request is accepted, the instance is there in PROVISIONING, and seconds later the
// operation is DONE with an error, and the instance is gone.
//
// Credentials are checked: a token is given for a JWT with the signature of a key that is accepted, and
// each call asks for the permissions that Compute Engine asks for.
package gce
