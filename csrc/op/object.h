// What the opaque pointers of infiniop.h point at: a slot of an arena that is never unmapped. A pointer that was destroyed
// or made up is told from a live one without looking at memory that is not ours.
#pragma once

#include <cstdint>
#include <memory>

namespace infiniop {

enum class Kind : uint8_t { None, Handle, Tensor, Operator, Chain };

struct Object {
  virtual ~Object() = default;
};

// The pointer that a C program gets; null when there is no room for another one. Takes the object.
void* publish(Kind kind, std::unique_ptr<Object> object);

// The object, or null: destroyed, of another kind, or never made by publish().
Object* find(Kind kind, const void* pointer);

// Takes the object back; null like find(). Nobody may be using it.
std::unique_ptr<Object> withdraw(Kind kind, const void* pointer);

}  // namespace infiniop
