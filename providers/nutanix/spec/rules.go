package spec

import (
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// mostSubnets is how many network cards a machine may have.
const mostSubnets = 32

// identifier looks at a reference by UUID or name, which must have the value that
// its type asks for.
func identifier(at *field.Path, id machinev1.NutanixResourceIdentifier) field.ErrorList {
	switch id.Type {
	case machinev1.NutanixIdentifierName:
		return named(at.Child("name"), id.Name)
	case machinev1.NutanixIdentifierUUID:
		return named(at.Child("uuid"), id.UUID)
	}
	return field.ErrorList{invalid(at.Child("type"), string(id.Type), "must be uuid or name")}
}

// named asks for a value that its discriminator has chosen.
func named(at *field.Path, value *string) field.ErrorList {
	if ptr.Deref(value, "") == "" {
		return field.ErrorList{field.Required(at, "the type beside it asks for it")}
	}
	return nil
}

// subnets asks for one to 32 that differ. Two are the same if they have the same
// type and the same value of that type; whether a name and a UUID mean one subnet
// only the infrastructure knows.
func subnets(at *field.Path, list []machinev1.NutanixResourceIdentifier) (faults field.ErrorList) {
	if len(list) == 0 {
		return field.ErrorList{invalid(at, "[]", "there must be one at least: the machine would have no network")}
	}
	if len(list) > mostSubnets {
		faults = append(faults, field.Invalid(at, len(list), fmt.Sprintf("there must be no more than %d", mostSubnets)))
	}
	first := map[string]int{}
	for i, id := range list {
		wrong := identifier(at.Index(i), id)
		faults = append(faults, wrong...)
		if len(wrong) > 0 {
			continue
		}
		value := ptr.Deref(id.UUID, "")
		if id.Type == machinev1.NutanixIdentifierName {
			value = ptr.Deref(id.Name, "")
		}
		key := string(id.Type) + "/" + value
		if j, twice := first[key]; twice {
			faults = append(faults, invalid(at.Index(i), value, "is the same as "+at.Index(j).String()))
			continue
		}
		first[key] = i
	}
	return faults
}

// secret looks at a reference to a secret, which must have a name.
func secret(at *field.Path, s *corev1.LocalObjectReference) field.ErrorList {
	switch {
	case s == nil:
		return field.ErrorList{field.Required(at, "a secret must be named")}
	case s.Name == "":
		return field.ErrorList{field.Required(at.Child("name"), "a secret must be named")}
	}
	return nil
}

func bootType(at *field.Path, b machinev1.NutanixBootType) field.ErrorList {
	switch b {
	case "", machinev1.NutanixLegacyBoot, machinev1.NutanixUEFIBoot, machinev1.NutanixSecureBoot:
		return nil
	}
	return field.ErrorList{invalid(at, string(b), "must be Legacy, UEFI, SecureBoot or left out")}
}

// category looks at the key and the value of a category, of 1 to 64 bytes each.
func category(at *field.Path, c machinev1.NutanixCategory) (faults field.ErrorList) {
	const most = 64
	for _, part := range []struct{ name, text string }{{"key", c.Key}, {"value", c.Value}} {
		if part.text == "" || len(part.text) > most {
			faults = append(faults, invalid(at.Child(part.name), part.text, fmt.Sprintf("must have 1 to %d bytes", most)))
		}
	}
	return faults
}

// gpu looks at a reference by device or name, which must have the value that its
// type asks for. Device 0 is one.
func gpu(at *field.Path, g machinev1.NutanixGPU) field.ErrorList {
	switch g.Type {
	case machinev1.NutanixGPUIdentifierDeviceID:
		if g.DeviceID == nil {
			return field.ErrorList{field.Required(at.Child("deviceID"), "the type beside it asks for it")}
		}
		return nil
	case machinev1.NutanixGPUIdentifierName:
		return named(at.Child("name"), g.Name)
	}
	return field.ErrorList{invalid(at.Child("type"), string(g.Type), "must be DeviceID or Name")}
}
