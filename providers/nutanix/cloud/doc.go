// Package cloud runs machines on Nutanix, as virtual machines of Prism Central.
//
// A spec becomes a plan (plan.go), and a plan becomes one request to create a virtual machine (request.go).
// Prism Central prevents a second one: before the creation, the provider reserves a UUID under the machine's
// token (reserve.go), and the request has this UUID.
//
// The package calls version 3 of Prism Central's REST API, the version of the original. No SDK is used:
// a dozen requests are needed. description_test.go checks them against the vendor's description of the API.
package cloud
