// Package lenient holds MachineHealthCheck of machine.openshift.io/v1beta1 in the shape that the API server stores, which is wider
// than the published Go type can decode.
//
// The schema admits durations and numbers that no decoder of the published type takes: "0abc" as nodeStartupTimeout (its pattern
// is not grouped), "9999999999h" as any timeout, 99999999999 as maxUnhealthy. One object of that kind makes a typed list fail, and
// so blinds an informer to all the others. Here these fields are text. They are parsed where an error can be reported on that
// object. What is encoded is what was decoded, to the letter.
//
// A scheme holds one type for a kind: [AddToScheme] takes the place of the published package's Install, and teaches Machine and
// MachineSet as published.
//
// +kubebuilder:object:generate=true
package lenient
