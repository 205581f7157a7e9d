package spec

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// checkSecurityProfile returns the first fault only: the type of a profile decides its other fields. An
// unknown type is accepted, as is an encryption type with TrustedLaunch.
func checkSecurityProfile(s *machineSpec, a admit.Request) field.ErrorList {
	var fault *field.Error
	encryption, path := s.OSDisk.ManagedDisk.SecurityProfile.SecurityEncryptionType, a.Path.Child("securityProfile")
	switch profile := s.SecurityProfile; {
	case profile == nil && encryption != "":
		fault = field.Required(path, "the OS disk has a securityEncryptionType, for which the machine has to be confidential")
	case profile == nil:
	case profile.Settings.SecurityType == machinev1beta1.SecurityTypesConfidentialVM:
		fault = checkConfidential(profile, encryption, a.Path)
	case profile.Settings.SecurityType == machinev1beta1.SecurityTypesTrustedLaunch:
		if profile.Settings.TrustedLaunch == nil {
			fault = field.Required(path.Child("settings", "trustedLaunch"), "the securityType is TrustedLaunch: say what it is to enable")
		}
	case encryption != "":
		fault = field.Invalid(path.Child("settings", "securityType"), lenient.Shown(profile.Settings.SecurityType),
			"has to be ConfidentialVM where the OS disk has a securityEncryptionType")
	case enables(profile.Settings.TrustedLaunch):
		fault = trustedOnly(profile, path)
	}
	if fault == nil {
		return nil
	}
	return field.ErrorList{fault}
}

// checkSecuritySettings is what the original's controller requires: less than its webhook. A ConfidentialVM
// without encryption, and an encryption type without a profile, are left to Azure.
func checkSecuritySettings(s *machineSpec, a admit.Request) field.ErrorList {
	profile, encryption := s.SecurityProfile, s.OSDisk.ManagedDisk.SecurityProfile.SecurityEncryptionType
	if profile == nil || encryption == "" && profile.Settings.SecurityType == machinev1beta1.SecurityTypesConfidentialVM && !s.LaunchesTrusted() {
		return nil
	}
	if encryption != "" && profile.Settings.SecurityType == machinev1beta1.SecurityTypesTrustedLaunch {
		return field.ErrorList{field.Invalid(a.Path.Child("securityProfile", "settings", "securityType"), lenient.Shown(profile.Settings.SecurityType),
			"has to be ConfidentialVM where the OS disk has a securityEncryptionType")}
	}
	if encryption == "" && s.LaunchesTrusted() && profile.Settings.SecurityType != machinev1beta1.SecurityTypesTrustedLaunch {
		return field.ErrorList{trustedOnly(profile, a.Path.Child("securityProfile"))}
	}
	return checkSecurityProfile(s, a)
}

// trustedOnly is the fault of settings of trustedLaunch in a machine of another type.
func trustedOnly(profile *machinev1beta1.SecurityProfile, path *field.Path) *field.Error {
	return field.Invalid(path.Child("settings", "securityType"), lenient.Shown(profile.Settings.SecurityType),
		"has to be TrustedLaunch where uefiSettings of trustedLaunch are enabled")
}

// LaunchesTrusted reports whether trustedLaunch enables secure boot or the virtual TPM: without either the
// machine is not a trusted one.
func (s *OpenShift) LaunchesTrusted() bool {
	return s.SecurityProfile != nil && enables(s.SecurityProfile.Settings.TrustedLaunch)
}

func checkConfidential(profile *machinev1beta1.SecurityProfile, encryption machinev1beta1.SecurityEncryptionTypes, root *field.Path) *field.Error {
	path := root.Child("securityProfile")
	settings := path.Child("settings", "confidentialVM")
	if encryption == "" {
		return field.Required(root.Child("osDisk", "managedDisk", "securityProfile", "securityEncryptionType"), "the securityType is ConfidentialVM: say what is encrypted")
	}
	if profile.Settings.ConfidentialVM == nil {
		return field.Required(settings, "the securityType is ConfidentialVM: say what it is to enable")
	}
	uefi := profile.Settings.ConfidentialVM.UEFISettings
	if uefi.VirtualizedTrustedPlatformModule != machinev1beta1.VirtualizedTrustedPlatformModulePolicyEnabled {
		return field.Invalid(settings.Child("uefiSettings", "virtualizedTrustedPlatformModule"), lenient.Shown(uefi.VirtualizedTrustedPlatformModule),
			"has to be Enabled for a ConfidentialVM")
	}
	if encryption != machinev1beta1.SecurityEncryptionTypesDiskWithVMGuestState {
		return nil
	}
	if profile.EncryptionAtHost != nil && *profile.EncryptionAtHost {
		return field.Invalid(path.Child("encryptionAtHost"), true, "has to be false, or left out, where DiskWithVMGuestState is encrypted")
	}
	if uefi.SecureBoot != machinev1beta1.SecureBootPolicyEnabled {
		return field.Invalid(settings.Child("uefiSettings", "secureBoot"), lenient.Shown(uefi.SecureBoot), "has to be Enabled where DiskWithVMGuestState is encrypted")
	}
	return nil
}

func enables(launch *machinev1beta1.TrustedLaunch) bool {
	return launch != nil && (launch.UEFISettings.SecureBoot == machinev1beta1.SecureBootPolicyEnabled ||
		launch.UEFISettings.VirtualizedTrustedPlatformModule == machinev1beta1.VirtualizedTrustedPlatformModulePolicyEnabled)
}
