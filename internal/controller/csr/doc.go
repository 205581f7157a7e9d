// Package csr approves the certificate requests of kubelets that run on
// machines: the client certificate with which a new node joins, and the serving
// certificates it asks for in its own name. What is approved is decided in
// internal/engine/approval; nothing is ever denied.
//
// Why a request is not granted is told once per change: in the log, as an event
// on the request, and on the machine it is for where that is known, and to
// [Approver.Refused].
package csr
