// Package prism simulates Prism Central of Nutanix: the requests of version 3 of its REST API that machine controllers
// need, with tasks, reserved UUIDs and versions of specs.
//
// As the vendor's description says, listings show no virtual machine that has not been created successfully, and a client
// may choose a UUID only among those that it has reserved. A cluster without capacity accepts a virtual machine, and
// fails its task.
package prism
