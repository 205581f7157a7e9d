// Package cloud runs machines on Yandex Cloud, as instances of Compute Cloud.
//
// A spec becomes a plan (plan.go), and a plan becomes one request to create an instance. Two properties of
// Compute Cloud prevent a second instance: the name of an instance is unique in its folder, and a request
// with a known idempotency key returns the operation of the first request with that key.
//
// The package calls the services by the generated code of the vendor's API (go-genproto), without the
// vendor's SDK on top of it: that connects once for each credential, and the SDK's packages for all other
// services would be linked.
package cloud
