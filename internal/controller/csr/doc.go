// Package csr approves the certificate requests of kubelets that run on machines: the client certificate
// with which a new node joins, and the serving certificates that the node requests in its own name.
// internal/engine/approval decides what is approved; no request is ever denied.
//
// The approver reports once per change why it does not grant a request: in the log, as an event on the
// request, as an event on its machine if that is known, and to [Approver.Refused].
package csr
