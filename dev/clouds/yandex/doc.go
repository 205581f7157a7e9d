// Package yandex simulates Yandex Cloud: instances of Compute Cloud, their operations, reserved addresses, the
// tokens of service accounts, and the list of endpoints.
//
// The services implement the interfaces that the vendor's go-genproto generates for servers. The package
// reads and writes gRPC's messages itself (grpc.go), so that requests pass through [double.Server], which has
// the faults, limits and logs of all simulators.
//
// Sources: the comments of go-genproto and the documentation of Yandex Cloud. Error texts are those that users
// of Yandex Cloud report, as far as they are known; the text for a zone without capacity is not.
package yandex
