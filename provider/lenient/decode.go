// Package lenient decodes provider specs as the originals do, and fills defaults into the documents of
// users.
//
// The originals read specs as YAML, accept much that [kit.DecodeStrict] refuses, and have created machines
// from such specs. Code that checks or uses specs written for them decodes with [Decode].
package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	strictjson "sigs.k8s.io/json"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// Decode returns a spec as its type, and as the document that the user wrote. It reads everything that the
// originals read, in the same way: field names in any case, numbers and booleans in place of text, whole
// numbers in any notation. It accepts unknown fields; null is an empty spec.
//
// Several spellings of a field's name are all read, in the order of their bytes, as an API server writes
// them: the last one counts, and objects are merged. Of duplicate names only the last one is read.
//
// The error is [provider.Invalid]; for a value of the wrong type it names the field's path. The bounds of
// [kit.DecodeStrict] apply to all fields that the type has. Empty input is not JSON.
func Decode[T any](raw []byte) (*T, *Document, error) {
	spec := new(T)
	tree, err := decode(raw, spec, false)
	if _, strict := errors.AsType[strictjson.FieldError](err); err != nil && !strict {
		return nil, nil, err
	}
	return spec, newDocument(raw, tree), nil
}

// DecodeKnown is [Decode] for specs whose original refuses unknown fields: each is an [provider.Invalid]
// error, joined.
func DecodeKnown[T any](raw []byte) (*T, error) {
	spec := new(T)
	if _, err := decode(raw, spec, true); err != nil {
		return nil, err
	}
	return spec, nil
}

// decode reads a spec, with or without the fields that its type does not have, and returns it as a tree,
// too.
func decode(raw []byte, into any, all bool) (any, error) {
	tree, err := parse(raw)
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
	}
	return tree, kit.DecodeStrict(rewritten(tree, reflect.TypeOf(into).Elem(), all), into)
}

// parse returns one JSON value, whose numbers keep their text.
func parse(raw []byte) (tree any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	switch err := decoder.Decode(&tree); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("there is nothing")
	case err != nil:
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more behind the end, at byte %d", decoder.InputOffset())
	}
	return tree, nil
}
