// Package lenient decodes provider specs as the originals do, and fills defaults into the documents that people wrote.
//
// The originals read specs as YAML, without regard to what [kit.DecodeStrict] refuses, and have made machines of what they
// read. Whoever judges or uses specs that were written for them decodes with [Decode].
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

// Decode returns a spec as the type that it is of, and as the document that people wrote. It reads what the originals read, as
// they do: names of fields in any case, numbers and booleans where text belongs, whole numbers in any notation. Unknown fields
// are let through, null is an empty spec.
//
// Of several spellings of a field's name each is read, in the order of their bytes, in which an API server writes them: the last
// one counts, and of objects the parts. Of the same name given twice only the last one is read.
//
// The error is [provider.Invalid]; of a value of the wrong type it names the field's path. The bounds of
// [kit.DecodeStrict] hold for all that the type has fields for. Nothing at all is not JSON.
func Decode[T any](raw []byte) (*T, *Document, error) {
	spec := new(T)
	tree, err := decode(raw, spec, false)
	if _, strict := errors.AsType[strictjson.FieldError](err); err != nil && !strict {
		return nil, nil, err
	}
	return spec, newDocument(raw, tree), nil
}

// DecodeKnown is [Decode] of specs whose original refuses fields that it does not know: each is an [provider.Invalid] error, joined.
func DecodeKnown[T any](raw []byte) (*T, error) {
	spec := new(T)
	if _, err := decode(raw, spec, true); err != nil {
		return nil, err
	}
	return spec, nil
}

// decode reads a spec, with the fields that its type does not have or without, and returns it as a tree, too.
func decode(raw []byte, into any, all bool) (any, error) {
	tree, err := parse(raw)
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
	}
	return tree, kit.DecodeStrict(rewritten(tree, reflect.TypeOf(into).Elem(), all), into)
}

// parse returns one JSON value, whose numbers are as they were written.
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
