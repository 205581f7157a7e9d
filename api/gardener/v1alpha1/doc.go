// Package v1alpha1 holds the Gardener machine API, machine.sapcloud.io/v1alpha1, as Go types.
//
// The types are our own and wire-exact: an object stored by another implementation of this API decodes without loss
// into them, and what they encode is accepted by the schema that the other implementation installs. Field names, optionality
// and the absence of schema defaults, enums and minimums are therefore part of the contract and not a matter of taste. Values
// documented here as "effective default" are applied by the controllers, never by the API server.
//
// The few additions to the wire are listed in docs/compatibility.md.
//
// +kubebuilder:object:generate=true
// +groupName=machine.sapcloud.io
package v1alpha1
