package cloud

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// placementAnnotation is an annotation of the node template of a machine of machine.sapcloud.io: JSON of a
// Placement of EC2, by which the original places the instance if the class has no placement.
const placementAnnotation = "machine.sapcloud.io/awsPlacement"

// annotated is the placement in the machine's annotation, as the original reads it; nil without one,
// or the class has one. The annotation is not part of the class: reading the machine takes one request to
// the control cluster for each creation.
func (s creator) annotated(ctx context.Context, ref provider.Ref) (*types.Placement, error) {
	objects := s.provider.options.Objects
	if !s.plan.annotated || objects == nil {
		return nil, nil //nolint:nilnil // No placement.
	}
	raw, err := objects.Object(ctx, provider.ObjectRef{APIVersion: provider.Gardener + "/v1alpha1", Kind: "Machine", Namespace: ref.Namespace, Name: ref.Name})
	if errors.Is(err, provider.ErrNoObject) {
		return nil, nil //nolint:nilnil // No placement.
	}
	if err != nil {
		return nil, provider.Errorf(provider.KindOf(err), "read the annotations of machine %s: %w", ref.Name, err)
	}
	var machine struct {
		Spec struct {
			NodeTemplate struct {
				Metadata struct {
					Annotations map[string]string `json:"annotations"`
				} `json:"metadata"`
			} `json:"nodeTemplate"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &machine); err != nil {
		return nil, provider.Errorf(provider.Transient, "read the annotations of machine %s: %w", ref.Name, err)
	}
	text := machine.Spec.NodeTemplate.Metadata.Annotations[placementAnnotation]
	if text == "" {
		return nil, nil //nolint:nilnil // No placement.
	}
	placement := &types.Placement{}
	if err := json.Unmarshal([]byte(text), placement); err != nil {
		return nil, provider.Errorf(provider.Invalid, "spec.nodeTemplate.metadata.annotations[%s] of the machine is no placement of EC2 in JSON: %w", placementAnnotation, err)
	}
	if *placement == (types.Placement{}) {
		return nil, nil //nolint:nilnil // No placement.
	}
	return placement, nil
}
