package spec

import (
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

const arm64 = "arm64"

// The defaults of a spec.
const (
	sizeAMD64 = "Standard_D4s_V3"
	sizeARM64 = "Standard_D4ps_V5"

	imagePublisher = "azureopenshift"
	imageOffer     = "aro4"
	imageSKUAMD64  = "aro_420"
	imageSKUARM64  = "420-arm"
	imageVersion   = "9.6.20251015"

	userDataSecret       = "worker-user-data"
	credentialsSecret    = "azure-cloud-credentials"
	credentialsNamespace = "openshift-machine-api"
)

// Default fills in the size, the network, the image and the secrets. A partly given network or image is not
// changed. Names that contain the cluster's are left out if that is not known.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	s, document, err := decode(a.Spec)
	if err != nil {
		return nil, err
	}
	if s.VMSize == "" {
		document.Set("vmSize", byArchitecture(a.Platform, sizeAMD64, sizeARM64))
	}
	if s.Vnet == "" && s.Subnet == "" && a.Platform.ID != "" {
		document.Set("vnet", a.Platform.ID+"-vnet")
		document.Set("subnet", a.Platform.ID+"-worker-subnet")
	}
	if s.Image == (machinev1beta1.Image{}) {
		defaultImage(document, s.SecurityProfile != nil, a.Platform)
	}
	if s.UserDataSecret == nil || s.UserDataSecret.Name == "" {
		document.In("userDataSecret").Set("name", userDataSecret)
	}
	if s.CredentialsSecret == nil || s.CredentialsSecret.Name == "" {
		document.In("credentialsSecret").Set("name", credentialsSecret)
	}
	if s.CredentialsSecret == nil || s.CredentialsSecret.Namespace == "" {
		document.In("credentialsSecret").Set("namespace", credentialsNamespace)
	}
	return document.JSON()
}

// defaultImage names the image in the cluster's own gallery for a machine with a security profile, and one
// of the Marketplace for any other.
func defaultImage(document *lenient.Document, secured bool, p admit.Platform) {
	if secured {
		if p.ID != "" {
			document.In("image").Set("resourceID", galleryImage(p.ID))
		}
		return
	}
	image := document.In("image")
	image.Set("publisher", imagePublisher)
	image.Set("offer", imageOffer)
	image.Set("sku", byArchitecture(p, imageSKUAMD64, imageSKUARM64))
	image.Set("version", imageVersion)
}

// galleryImage is the resource ID of the image that the installer uploads. Names of galleries have no dashes.
func galleryImage(id string) string {
	return "/resourceGroups/" + id + "-rg/providers/Microsoft.Compute/galleries/gallery_" + strings.ReplaceAll(id, "-", "_") +
		"/images/" + id + "-gen2/versions/latest"
}

// byArchitecture chooses by the cluster's default architecture: amd64 if it is another one, or unknown.
func byArchitecture(p admit.Platform, amd, arm string) string {
	if p.Architecture == arm64 {
		return arm
	}
	return amd
}
